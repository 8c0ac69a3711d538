/** A JSON Schema of openapi.json, as far as types are made of it. */
export type Schema = {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  allOf?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  /** A write takes the member only as it was read. */
  'x-as-read'?: boolean
  /** Of a shape that only keys with these permissions alone get. */
  'x-permissions'?: string[]
  'x-body-member'?: string
}
export type Schemas = Record<string, Schema>

/** Component names that would hide a global of the language. */
const RENAMED: Record<string, string> = { Error: 'CodedError' }

/** The TypeScript name of the component that a `$ref` of `components.schemas` names. */
export function typeName(ref: string): string {
  const name = ref.slice(ref.lastIndexOf('/') + 1)
  return RENAMED[name] ?? name
}

/** A `type` declaration for each of the named components, with their descriptions. */
export function typeDeclarations(names: string[], schemas: Schemas): string {
  const declarations = names.map((name) => {
    const schema = schemas[name] ?? {}
    return `${comment(schema.description)}export type ${typeName(name)} = ${typeOf(schema, schemas)}\n`
  })
  return declarations.join('\n')
}

/** The TypeScript type of a schema. */
export function typeOf(schema: Schema, schemas: Schemas): string {
  const { $ref, allOf, anyOf, oneOf } = schema
  if ($ref !== undefined) return typeName($ref)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)))
  if (allOf !== undefined) return intersection(allOf, schemas)
  if (oneOf !== undefined) return union(exclusive(oneOf, schemas))
  if (anyOf !== undefined) return union(anyOf.map((part) => typeOf(part, schemas)))
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type }, schemas)))
  return simpleType(schema, schemas)
}

/** All parts of an `allOf`. A part that holds `required` alone makes these members of the first part required. */
function intersection([first = {}, ...others]: Schema[], schemas: Schemas): string {
  const base = typeOf(first, schemas)
  const parts = others.map((part) =>
    Object.keys(part).join() === 'required'
      ? `Required<Pick<${base}, ${union((part.required ?? []).map((name) => JSON.stringify(name)))}>>`
      : typeOf(part, schemas),
  )
  return [base, ...parts].join(' & ')
}

/** Each choice of a `oneOf`. Between closed objects, the members of the other choices are `never`. */
function exclusive(choices: Schema[], schemas: Schemas): string[] {
  const closed = choices.map((choice) => closedObject(choice, schemas))
  const all = new Set(closed.flatMap((members) => members ?? []))
  return choices.map((choice, index) => {
    const type = typeOf(choice, schemas)
    const foreign = [...all].filter((member) => !closed[index]?.includes(member))
    if (closed.includes(undefined) || foreign.length === 0) return type
    return `(${type} & { ${foreign.map((member) => `${member}?: never`).join('; ')} })`
  })
}

function closedObject({ $ref }: Schema, schemas: Schemas): string[] | undefined {
  const schema = $ref === undefined ? undefined : schemas[$ref.slice($ref.lastIndexOf('/') + 1)]
  return schema?.additionalProperties === false ? Object.keys(schema.properties ?? {}) : undefined
}

function simpleType(schema: Schema, schemas: Schemas): string {
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return `Array<${typeOf(schema.items ?? {}, schemas)}>`
    case 'object':
      return objectType(schema, schemas)
    default:
      return 'unknown'
  }
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema, schemas: Schemas): string {
  const members = Object.entries(properties).map(([name, member]) => {
    const mark = required.includes(name) ? '' : '?'
    return `${comment(member.description, '  ')}  ${propertyName(name)}${mark}: ${indented(typeOf(member, schemas))}`
  })
  const isOpen = additionalProperties === true || (members.length === 0 && additionalProperties === undefined)
  const others = typeof additionalProperties === 'object' ? typeOf(additionalProperties, schemas) : 'unknown'
  if (isOpen || typeof additionalProperties === 'object') members.push(`  [name: string]: ${others}`)
  return `{\n${members.join('\n')}\n}`
}

const propertyName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))

/** A text that stands two columns further to the right, except its first line. */
export const indented = (text: string): string => text.replaceAll('\n', '\n  ')

const union = (types: string[]): string => [...new Set(types)].join(' | ')

/** A documentation comment of one line, or nothing. */
export const comment = (text: string | undefined, indent = ''): string =>
  text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/').replaceAll('\n', ' ')} */\n`
