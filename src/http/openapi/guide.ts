export const guideTo = (
  baseUrl: string,
  keyPrefix: string,
): string => `WhatsApp messages, contacts and email behind one HTTP JSON API.

## From the first call to a verified webhook

**1. Call.** Every request needs an API key. With \`npm start\`, copy the demo key from *Authentication*.

\`\`\`sh
export KEY=${keyPrefix}-…
curl ${baseUrl}/public/v1/me \\
  -H "Authorization: Bearer $KEY"
\`\`\`

**2. Send.** An approved template can be sent at any time, a text within 24 hours of the customer's last message.

\`\`\`sh
curl ${baseUrl}/public/v1/templates/whatsapp/send \\
  -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: order-1042' \\
  -d '{
    "recipient": "393331234567",
    "type": "text",
    "text": "Your order is ready."
  }'
\`\`\`

**3. Receive.** Register a URL to receive each customer message; a delivery without a 2xx answer is retried up to four times.

\`\`\`sh
curl ${baseUrl}/public/v1/webhooks/registrations \\
  -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{
    "name": "Shop",
    "url": "https://shop.example.com/hooks",
    "events": ["whatsapp.message.received"],
    "secret": "at-least-16-characters"
  }'
\`\`\`

**4. Verify.** The signature is the HMAC-SHA256 of the body's bytes. A message may arrive twice: use its \`wamid\` to detect repeats.

\`\`\`js
const signature = headers['x-service-signature']
const expected = createHmac('sha256', secret)
  .update(rawBody).digest()
const isSigned = timingSafeEqual(
  expected, Buffer.from(signature, 'hex'))
\`\`\`

Every answer has the header \`X-Request-Id\`. An unknown \`Expect\` header returns 417 \`expectation_failed\`.`
