"""The dashboard: the only package that knows Streamlit."""
