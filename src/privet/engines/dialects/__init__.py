"""How each SQL engine writes what engines write differently."""
