export type BucketPlace = {
  /** Without credentials: may be shown. */
  endpoint: string
  bucket: string
  region: string
  /** Absent: what the environment gives, such as the role of the machine. */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined
}

const DEFAULT_REGION = 'us-east-1'

/**
 * Reads `https://KEY:SECRET@HOST[:PORT]/BUCKET[?region=REGION]`: key and secret percent-encoded, or both left away where
 * the machine has a role; `http:` for a store on the same network. Undefined when it is no such address.
 */
export function parseBucketUrl(text: string): BucketPlace | undefined {
  const url = URL.parse(text)
  if (url === null || !['https:', 'http:'].includes(url.protocol)) return undefined
  const bucket = /^\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/?$/.exec(url.pathname)?.[1]
  const accessKeyId = decode(url.username)
  const secretAccessKey = decode(url.password)
  if (bucket === undefined || accessKeyId === undefined || secretAccessKey === undefined) return undefined
  if ((accessKeyId === '') !== (secretAccessKey === '')) return undefined
  return {
    endpoint: url.origin,
    bucket,
    region: url.searchParams.get('region') || DEFAULT_REGION,
    credentials: accessKeyId === '' ? undefined : { accessKeyId, secretAccessKey },
  }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
