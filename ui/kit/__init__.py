"""Colours, figures and components of Streamlit and Plotly: knows no page and no setting."""
