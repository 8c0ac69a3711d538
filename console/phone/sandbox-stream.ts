import { useEffect, useState } from 'react'

/** The newest event of one name in the sandbox's stream; undefined before the first. */
export function useSandbox<Data>(query: string, name: string): Data | undefined {
  const [data, setData] = useState<Data>()
  useEffect(() => {
    const source = new EventSource(`/sandbox/stream?${query}`)
    source.addEventListener(name, (event) => setData(JSON.parse(event.data)))
    return () => source.close()
  }, [query, name])
  return data
}

/** Calls the sandbox; false when it refused or the service did not take what it posted. */
export async function callSandbox(method: 'POST' | 'PUT', path: string, body: object): Promise<boolean> {
  const json = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(`/sandbox/${path}`, { method, ...json }).catch(() => undefined)
  if (!response?.ok) return false
  const { delivered = true } = await response.json()
  return delivered
}
