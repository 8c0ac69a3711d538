export type BucketPlace = {
  endpoint: string
  bucket: string
  region: string
  /** Undefined: use credentials from the environment, such as an instance role. */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined
}

const DEFAULT_REGION = 'us-east-1'

/** Parses `https://KEY:SECRET@HOST[:PORT]/BUCKET[?region=REGION]`. Key and secret are percent-encoded. */
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
