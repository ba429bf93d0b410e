# The dashboard in a container: a user without rights, nothing to write but /var/lib/dpci and /tmp. See docs/operations.md.
FROM python:3.11-slim

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

# The packages first: they change less often than the code.
WORKDIR /opt/dpci
COPY requirements.lock ./
RUN pip install --require-hashes -r requirements.lock
# Licences and notices of all of them, in one text that the image carries.
RUN pip-licenses --from=mixed --with-license-file --with-notice-file --no-license-path \
    --format=plain-vertical --output-file=LICENCES.txt

RUN useradd --system --uid 10001 --user-group --no-create-home --home-dir /tmp --shell /usr/sbin/nologin dpci \
    && install --directory --owner dpci --group dpci --mode 0700 /var/lib/dpci /var/lib/dpci/keys

# Compiled once here, because the running container cannot write next to the code; numba keeps its machine code in /tmp.
COPY LICENSE README.md NOTATION.md app.py ./
COPY .streamlit/config.toml .streamlit/config.toml
COPY dpci_core dpci_core
COPY ui ui
COPY pages pages
COPY data data
COPY docs docs
RUN python -m compileall -q app.py dpci_core ui pages

ENV STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_BROWSER_SERVER_ADDRESS=localhost \
    DPCI_LEDGER=/var/lib/dpci/ledger.sqlite3 \
    DPCI_LEDGER_KEYS=/var/lib/dpci/keys \
    DPCI_RELEASES=/var/lib/dpci/releases \
    DPCI_DATA_DIR=/var/lib/dpci/data \
    NUMBA_CACHE_DIR=/tmp/numba \
    HOME=/tmp
VOLUME /var/lib/dpci
EXPOSE 8501
USER 10001:10001

# With a base path the address of the check has one too.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; p = os.environ.get('STREAMLIT_SERVER_BASE_URL_PATH', '').strip('/'); u.urlopen('http://127.0.0.1:8501/' + (p + '/' if p else '') + '_stcore/health', timeout=4)"]

CMD ["python", "-m", "streamlit", "run", "app.py", "--server.port=8501"]
