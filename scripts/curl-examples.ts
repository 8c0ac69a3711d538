import { type ExampleDocument, type ExampleRequest, exampleRequests } from './example-requests.ts'

const HEAD = `# Every operation of the API as a curl command. Generated from openapi.json by \`npm run generate\`. Do not edit.
#
#   export PARLEY_URL=http://127.0.0.1:3000
#   export PARLEY_KEY=…        an API key
#   export ADMIN_TOKEN=…       for /admin/v1
#
# Copy the commands that you need. Ids are variables such as CONTACT_ID.
`

/** A file with one curl command for each operation, under the headings of the reference. */
export function curlExamples(document: ExampleDocument): string {
  const groups = Map.groupBy(exampleRequests(document), ({ tag }) => tag)
  const parts = [...groups].map(
    ([tag, requests]) => `\n## ${tag}\n${requests.map((request) => `\n${curlCommand(request)}`).join('')}`,
  )
  return HEAD + parts.join('')
}

function curlCommand({ operationId, summary, method, path, query, credential, body }: ExampleRequest): string {
  const search = query.map(({ name, variable }) => `${encodeURIComponent(name)}=$${variable}`).join('&')
  const address = `$PARLEY_URL${path.replaceAll(/\{(\w+)\}/g, '$$$1')}${search === '' ? '' : `?${search}`}`
  const lines = [
    `curl -sS ${method === 'GET' ? '' : `-X ${method} `}"${address}"`,
    ...(credential === undefined ? [] : [`-H "Authorization: Bearer $${credential}"`]),
    ...(body === undefined ? [] : [`-H 'Content-Type: ${body.contentType}'`, `--data-binary ${quoted(body.text)}`]),
  ]
  return `# ${summary} (${operationId})\n${lines.join(' \\\n  ')}\n`
}

/** A text in single quotes for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
