"""An MCP server of the official Python library, for zdx to be tried against."""
import asyncio
import os
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("notes")

@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

@server.tool()
async def count(steps: int, ctx: Context) -> str:
    """Count with progress."""
    for n in range(steps):
        await asyncio.sleep(0.05)
        await ctx.report_progress(n + 1, steps, f"number {n + 1}")
    return "counted"

@server.tool()
def crash() -> str:
    """End at once."""
    os._exit(5)

@server.resource("note://today")
def today() -> str:
    return "buy milk"

@server.prompt()
def plan(goal: str) -> str:
    """Plan for a goal."""
    return f"Make a plan to {goal}."

if __name__ == "__main__":
    server.run("stdio")
