/** Functions of a customer's server that verify the signature of a delivery; each takes the bytes of the body as they came. */
export type Language = 'node' | 'python' | 'php' | 'go'

/** The code of a language; `header` is the name of the header with the signature. */
export const verificationCode = (language: Language, header: string): string => CODES[language](header)

const CODES: Record<Language, (header: string) => string> = {
  node: (header) => `import { createHmac, timingSafeEqual } from 'node:crypto'

// body: the bytes of the request, before they are parsed
export function isSigned(body, headers) {
  const received = Buffer.from(headers['${header.toLowerCase()}'] ?? '', 'hex')
  const expected = createHmac('sha256', process.env.WEBHOOK_SECRET).update(body).digest()
  return received.length === expected.length && timingSafeEqual(received, expected)
}
`,
  python: (header) => `import hashlib, hmac, os

# body: the bytes of the request, before they are parsed
def is_signed(body, headers):
    received = headers.get("${header}", "")
    expected = hmac.new(os.environ["WEBHOOK_SECRET"].encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), received.encode())
`,
  php: (header) => `<?php
// $body: file_get_contents('php://input'), before it is parsed
function isSigned(string $body): bool
{
    $received = $_SERVER['HTTP_${header.toUpperCase().replaceAll('-', '_')}'] ?? '';
    return hash_equals(hash_hmac('sha256', $body, getenv('WEBHOOK_SECRET')), $received);
}
`,
  go: (header) => `package receiver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
)

// body: the bytes of the request, before they are parsed
func isSigned(body []byte, header http.Header) bool {
	received, err := hex.DecodeString(header.Get("${header}"))
	mac := hmac.New(sha256.New, []byte(os.Getenv("WEBHOOK_SECRET")))
	mac.Write(body)
	return err == nil && hmac.Equal(mac.Sum(nil), received)
}
`,
}
