"""The application, traced by Langfuse's handler."""

from app import make_chain
from langfuse import get_client
from langfuse.langchain import CallbackHandler

print(make_chain().invoke("When does the gate open on working days?", {"callbacks": [CallbackHandler()]}))
get_client().flush()
