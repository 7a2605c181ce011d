/** Runs `serve` and calls `end` once when it has finished, after success and after failure. */
export function settled(serve: () => void | Promise<void>, end: () => void): void | Promise<void> {
  let pending: void | Promise<void> = undefined
  try {
    pending = serve()
  } finally {
    if (pending === undefined) end()
  }
  return pending === undefined ? undefined : endAfter(pending, end)
}

async function endAfter(pending: Promise<void>, end: () => void): Promise<void> {
  try {
    await pending
  } finally {
    end()
  }
}
