/**
 * The code of a one-time link stands behind `#`, which browsers do not send. It is read once and removed from the
 * address before anything else runs, so that it stays in no history and no screenshot.
 */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  if (code !== null) history.replaceState(history.state, '', location.pathname + location.search)
  return code
}

export const signInCode: string | null = takeCode()
