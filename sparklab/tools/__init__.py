"""The programs that an emulated node has on its PATH; every call is a fresh, small interpreter."""
