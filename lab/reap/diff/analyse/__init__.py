"""From two recordings to what differs: `joined` matches their stacks, `difference` compares them."""
