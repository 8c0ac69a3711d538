import { type ExampleDocument, type ExampleRequest, exampleRequests } from './example-requests.ts'

/** A collection for Postman (format 2.1), which Bruno, Insomnia and Hoppscotch import too: a request per operation. */
export function postmanCollection(document: ExampleDocument): string {
  const groups = Map.groupBy(exampleRequests(document), ({ tag }) => tag)
  const collection = {
    info: {
      name: 'Parley',
      description:
        'Generated from openapi.json. Set baseUrl, PARLEY_KEY and ADMIN_TOKEN in the variables of the collection.',
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    variable: [
      { key: 'baseUrl', value: 'http://127.0.0.1:3000' },
      { key: 'PARLEY_KEY', value: '' },
      { key: 'ADMIN_TOKEN', value: '' },
    ],
    item: [...groups].map(([name, requests]) => ({ name, item: requests.map(itemOf) })),
  }
  return `${JSON.stringify(collection, null, 1)}\n`
}

function itemOf({ summary, method, path, query, credential, body }: ExampleRequest) {
  const segments = path
    .split('/')
    .slice(1)
    .map((segment) => segment.replace(/^\{(\w+)\}$/, '{{$1}}'))
  return {
    name: summary,
    request: {
      method,
      header: body === undefined ? [] : [{ key: 'Content-Type', value: body.contentType }],
      url: {
        raw: `{{baseUrl}}/${segments.join('/')}`,
        host: ['{{baseUrl}}'],
        path: segments,
        ...(query.length > 0 && {
          query: query.map(({ name, variable }) => ({ key: name, value: `{{${variable}}}` })),
        }),
      },
      auth:
        credential === undefined
          ? { type: 'noauth' }
          : { type: 'bearer', bearer: [{ key: 'token', value: `{{${credential}}}`, type: 'string' }] },
      ...(body !== undefined && { body: { mode: 'raw', raw: body.text } }),
    },
  }
}
