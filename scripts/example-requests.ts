type Parameter = { name: string; in: string; required?: boolean; schema: { enum?: string[] } }
type Media = { example?: unknown; examples?: Record<string, { value: unknown }> }
type Operation = {
  operationId: string
  summary: string
  deprecated?: boolean
  tags?: string[]
  security?: Record<string, unknown>[]
  parameters?: (Parameter | { $ref: string })[]
  requestBody?: { content: Record<string, Media> }
}
export type ExampleDocument = {
  paths: Record<string, Record<string, Operation>>
  components: { parameters: Record<string, Parameter> }
}

/** One request for an operation, with the first example of its body. */
export type ExampleRequest = {
  operationId: string
  summary: string
  tag: string
  method: string
  /** Path parameters stand in it as `{NAME}`, for example `/public/v1/contacts/{CONTACT_ID}`. */
  path: string
  /** Required query parameters and the variables that hold their values. */
  query: { name: string; variable: string }[]
  /** The variable that holds the key or the token; undefined where the operation takes none. */
  credential: 'PARLEY_KEY' | 'ADMIN_TOKEN' | undefined
  body: { contentType: string; text: string } | undefined
}

/** An example request for each operation of the document that is not deprecated, in its order. */
export function exampleRequests(document: ExampleDocument): ExampleRequest[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { deprecated }]) => deprecated !== true)
      .map(([method, operation]) => requestOf(document, method, path, operation)),
  )
}

function requestOf(document: ExampleDocument, method: string, path: string, operation: Operation): ExampleRequest {
  const parameters = (operation.parameters ?? []).map((parameter) => named(document, parameter))
  const inPath = new Map(parameters.map(({ name, variable }) => [name, variable]))
  const [scheme] = Object.keys((operation.security ?? [{ apiKey: [] }])[0] ?? {})
  return {
    operationId: operation.operationId,
    summary: operation.summary,
    tag: operation.tags?.[0] ?? 'Parley',
    method: method.toUpperCase(),
    path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `{${inPath.get(name) ?? constantCase(name)}}`),
    query: parameters
      .filter(({ isRequired, place }) => isRequired && place === 'query')
      .map(({ name, variable }) => ({ name, variable })),
    credential: scheme === undefined ? undefined : scheme === 'adminToken' ? 'ADMIN_TOKEN' : 'PARLEY_KEY',
    body: bodyOf(operation),
  }
}

/** A shared parameter is named after what it identifies: `id` of a contact is `CONTACT_ID`. */
function named({ components }: ExampleDocument, parameter: Parameter | { $ref: string }) {
  const reference = '$ref' in parameter ? (parameter.$ref.split('/').at(-1) ?? '') : undefined
  const found = '$ref' in parameter ? components.parameters[reference ?? ''] : parameter
  if (found === undefined) throw new Error(`The parameter ${reference} is not in components`)
  const variable = constantCase(reference ?? found.name)
  return { name: found.name, place: found.in, isRequired: found.required === true, variable }
}

function bodyOf({ requestBody }: Operation): ExampleRequest['body'] {
  const [contentType, media] = Object.entries(requestBody?.content ?? {})[0] ?? []
  if (contentType === undefined || media === undefined) return undefined
  const value = media.example ?? Object.values(media.examples ?? {})[0]?.value
  return { contentType, text: typeof value === 'string' ? value : JSON.stringify(value, null, 2) }
}

/** `hub.verify_token` and `ContactId` become `HUB_VERIFY_TOKEN` and `CONTACT_ID`. */
const constantCase = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/\W+/g, '_')
    .toUpperCase()
