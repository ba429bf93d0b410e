"""The style sheet of the page: everything on one screen, and on a phone a bar at the bottom."""

from __future__ import annotations

NARROW = 640
"""Pixels up to which a screen is a phone's: Streamlit stacks columns there."""
SHEET = (
    """<style>
.stMainBlockContainer { padding: 4rem 2rem 0.25rem; max-width: 110rem }
.stMainBlockContainer > [data-testid=stVerticalBlock], .st-key-explore { gap: 0.5rem }
/* On a phone the navigation is in there. */
@media (min-width: 768px) {
  [data-testid=stSidebar], [data-testid=stExpandSidebarButton] { display: none }
}
.st-key-controls, .st-key-sheet { gap: 0.25rem }
[data-testid=stElementContainer]:has(> .stHtml style:only-child) { display: none }

/* One line each: the question, the choices, the tabs. */
.st-key-head h1 { font-size: 1.375rem; padding: 0; line-height: 1.75rem }
.st-key-head .stButton button { padding: 0.125rem 0.875rem; min-height: 2rem }
:is(.st-key-choices, .st-key-tabs, .st-key-best_split, .st-key-about_budget) :is(p, label, input, span) {
  font-size: 0.875rem }
:is(.st-key-choices, .st-key-tabs, .st-key-best_split) :is([data-testid=stPopoverButton], button[kind]) {
  min-height: 2rem; padding: 0.125rem 0.625rem }
.st-key-tabs [role=radio] { min-height: 2rem; padding: 0.125rem 0.625rem }
.st-key-tabs [data-testid=stSelectbox] [role=group] { height: 2rem; min-height: 0 }
.st-key-about_budget [data-testid=stPopoverButton], .st-key-best_split [kind=tertiary] { min-height: 1.5rem; padding: 0 }
.st-key-about_budget .odds { margin: 0; font: inherit }
.st-key-about_budget .odds_room { display: grid; font-size: 0.9375rem; line-height: 1.375rem }
.odds_room > *, .odds_room::after { grid-area: 1 / 1 }
.odds_room::after { content: attr(data-most); visibility: hidden }

[data-dpci-live=total_slider] .st-key-total_number { visibility: hidden }
[data-dpci-live=total_slider] :is(.st-key-best_split, .remark, .lost) { opacity: 0.06 }
/* Of an earlier input nothing is read, and a button keeps the focus. */
.st-key-best_line { position: relative; min-width: 6rem }
.st-key-best_line:has([data-stale=true]) > * { opacity: 0 !important; transition: none !important }
.st-key-best_line:has([data-stale=true])::before { content: "computing …"; position: absolute; font-size: 0.875rem }
.st-key-sheet_open { display: none }
/* Two lines have their place before it is known how many the best split takes; three where they are short. */
.st-key-best_split { min-height: 4rem; align-content: flex-start }
.st-key-best_split, .st-key-best_line { row-gap: 0 !important }
@media (max-width: 1100px) { .st-key-best_split { min-height: 5.5rem } }

@media (max-width: NARROWpx) {
  .stMainBlockContainer { padding: 4rem 1rem 12.75rem }
  .stMainBlockContainer > [data-testid=stVerticalBlock], .st-key-explore, .st-key-head { gap: 0.25rem 0.5rem }
  .st-key-head h1 { font-size: 1.125rem; line-height: 1.375rem }
  .st-key-head .stButton button { padding: 0.125rem 0.5rem }
  .st-key-head .stButton p { font-size: 0.8125rem }
  /* What goes on beyond the edge fades there. */
  :is(.st-key-choices, .st-key-tabs) { flex-wrap: nowrap !important; overflow-x: auto; gap: 0.375rem;
    padding: 0 2rem 0.25rem 0; mask-image: linear-gradient(to left, transparent, black 2rem) }
  :is(.st-key-choices, .st-key-tabs) > * { flex: none }
  .st-key-controls { position: fixed !important; inset: auto 0 0 0; z-index: 60; padding: 0.5rem 1rem 0.75rem;
    background: light-dark(LIGHT_PAGE, DARK_PAGE); border-top: 1px solid light-dark(LIGHT_LINE, DARK_LINE);
    gap: 0.25rem; max-height: 52vh; overflow-y: auto }
  .st-key-controls [data-testid=stHorizontalBlock] { gap: 0.25rem }
  .st-key-about_budget .odds_room { font-size: 0.8125rem; line-height: 1.125rem }
  .picture h2.finding { min-height: 4.5rem }
  .st-key-sheet_open { display: block }
  .st-key-controls:not(:has(.st-key-sheet_open input:checked)) :is(.st-key-sheet, .st-key-read_budget) { display: none }
}
/* On a short one the picture ends above the bar with its axis. */
@media (max-width: NARROWpx) and (max-height: 44em) {
  .stMainBlockContainer { padding: 3.75rem 1rem 10.5rem }
  .st-key-controls { padding: 0 1rem }
  .picture h2.finding { font-size: 1.125rem; line-height: 1.25rem; min-height: 0 }
  .st-key-about_budget .odds_room { font-size: 0.75rem; line-height: 1rem }
  .odds_room::after { content: none }
}
</style>"""  # noqa: E501 - CSS
).replace("NARROW", str(NARROW))
