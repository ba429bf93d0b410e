"""The style sheet of all pages, part of their HTML (ui/head.py): what Streamlit's theme has no
setting for.
"""

from __future__ import annotations

import streamlit as st

from ui.kit.palette import THEME_COLOURS

_CSS = """<style>
/* Streamlit leaves six rem above the first line; the charts need the room. */
.stMainBlockContainer { padding-top: 4rem; padding-bottom: 3rem }

/* Captions at 60 % of the text colour are too pale to read; code in them fades with them. */
[data-testid=stCaptionContainer] { opacity: CAPTION }

/* What the ends of a slider mean stands at its ends, and never on two lines. */
[class*=st-key-ends_] { max-width: max(60%, 13.75rem) }

/* On a phone choices side by side go on in the next line. */
@media (max-width: 640px) { [data-testid=stButtonGroup] [role=radiogroup] { flex-wrap: wrap } }

/* Answers to choose among are as high as a finger needs, and do not touch. */
[data-testid=stRadio] label { min-height: 2rem; align-items: center }
@media (pointer: coarse) { [data-testid=stRadio] label { min-height: 2.75rem } }

/* What is chosen and too long for its box ends in three dots, not in the middle of a letter. */
[data-testid=stSelectbox] input { text-overflow: ellipsis }

/* White on the light blue of the dark theme cannot be read. */
[data-testid^=stBaseButton-primary], [data-testid=stMultiSelect] :is([data-tag], [data-tag] *) {
  color: light-dark(LIGHT_PAGE, DARK_PAGE) }

/* What is open behind a plain button stays readable: Streamlit darkens its words on a dark page too. */
button[kind=tertiary]:is(:active, [aria-expanded=true]) { color: light-dark(LIGHT_LINK, DARK_LINK) }

/* The words of a chart follow the theme at once, also when it changes while the page is open. */
.js-plotly-plot .main-svg g:not(.hoverlayer *) > text { fill: currentColor !important }

/* One ring that nobody overlooks: around what has the keyboard, or around what stands for a bare input. */
:focus-visible:not(main, input:is([type=range], [type=radio], [type=checkbox], [role=combobox])),
[data-testid=stSlider] div:has(> * > input:focus-visible), label:has(input:focus-visible),
:is([role=group], [data-testid=stMultiSelectTagsContainer]):has(
  > input:focus-visible) {
  outline: 3px solid light-dark(LIGHT_LINK, DARK_LINK) !important; outline-offset: 2px; border-radius: 0.25rem }
/* Choices stand close together: further out, the ring would cross the words of the next. */
[data-testid=stRadio] label { outline-offset: 0 !important }

/* A number of two lines: its name and what is typed, and the slider. What a thumb stands for is in the field above;
   while it moves it says so itself. */
[class*=st-key-compact_] [data-testid=stElementContainer]:has([data-testid=stTextInput]) { width: 6.5rem; flex: none }
[class*=st-key-compact_] [data-testid=stTextInputRootElement] { height: 1.875rem; min-height: 0 }
[class*=st-key-compact_] [data-testid=stTextInput] input { padding: 0 0.5rem; text-align: right }
[class*=st-key-compact_] [data-testid=stTextInputClearButton] { display: none }
[class*=st-key-compact_] [data-testid=stSlider] [role=group] { padding-top: 0; padding-bottom: 0 }
[class*=st-key-compact_] [data-testid=stSliderTickBar] { display: none }
[class*=st-key-compact_] [data-testid=stHorizontalBlock] { min-height: 1.875rem }
[class*=st-key-compact_] [data-testid=stSliderThumbValue] { background: light-dark(LIGHT_PAGE, DARK_PAGE); z-index: 3;
  visibility: hidden; padding: 0 0.25rem; border-radius: 0.25rem }
[class*=st-key-compact_] :is([data-dragging], [data-focused]) [data-testid=stSliderThumbValue] { visibility: visible }
[class*=st-key-compact_] [data-testid=stAlertContainer] { padding: 0.25rem 0.75rem }

@media (prefers-reduced-motion: reduce) {
  *, ::before, ::after { animation-duration: 1ms !important; animation-iteration-count: 1 !important;
                         transition: none !important; scroll-behavior: auto !important }
  /* Streamlit's script lets an expander grow over half a second; only an important rule outranks it. */
  [data-testid=stExpander] details { height: auto !important }
}
</style>"""  # noqa: E501 - CSS
CAPTION_OPACITY = 0.8
"""How strong a caption is; a test holds it to 4.5 : 1 on every background."""


def sheet() -> str:
    """The style sheet of all pages."""
    return themed(_CSS.replace("CAPTION", str(CAPTION_OPACITY)))


def themed(css: str) -> str:
    """A style sheet with the theme's own colours in the place of their names."""
    made = css
    for name, (option, usual) in THEME_COLOURS.items():
        made = made.replace(name, st.get_option(option) or usual)
    return made
