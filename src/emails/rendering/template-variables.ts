import { ForTag, Output, TablerowTag, type Template, TypeGuards, toValueSync, type Variables } from 'liquidjs'

export const UNSUBSCRIBE_URL = 'unsubscribe_url'

/** A variable that is only tested or counted is neither text nor list. */
export type VariableUse = {
  readonly names: readonly string[]
  readonly texts: readonly string[]
  readonly lists: Readonly<Record<string, readonly string[]>>
  readonly unfillable: string | undefined
}

/** `lines[0].name`, as segments. */
type Path = readonly unknown[]

const LIST_FILTERS = new Set(
  'compact concat find find_exp find_index find_index_exp group_by group_by_exp has has_exp map pop push reject reject_exp reverse sample shift sort sort_natural sum uniq unshift where where_exp'.split(
    ' ',
  ),
)
const COMMON_FILTERS = new Set(['default', 'first', 'inspect', 'join', 'json', 'jsonify', 'last', 'size', 'slice'])

/** Reads variable use from Liquid's own analysis: `all` references, and the caller's `globals`. */
export function readUse(templates: readonly Template[], all: Variables, globals: Variables): VariableUse {
  const names = Object.keys(globals)
  const loops = [...loopsOf(templates)].filter(({ list }) => names.includes(list))
  const outputs = [...outputsOf(templates)].filter(({ name }) => names.includes(name))
  const items = new Map(loops.map(({ variable, list }) => [variable, list]))
  const references: Reference[] = [
    ...names.flatMap((name) => pathsOf(globals, name).map((path) => readReference(path))),
    ...loops.flatMap(({ variable, list }) => pathsOf(all, variable).map((path) => readItemReference(path, list))),
    ...[...outputsOf(templates)]
      .filter(({ name, filter }) => items.has(name) && !names.includes(name) && filter === undefined)
      .map(({ name }) => ({ unfillable: name })),
  ]
  const lists = new Map<string, Set<string>>()
  const addList = (name: string) => lists.set(name, lists.get(name) ?? new Set()).get(name)
  for (const { list } of loops) addList(list)
  for (const { name, filter } of outputs) if (filter !== undefined && LIST_FILTERS.has(filter)) addList(name)
  for (const { list, member } of references) if (list !== undefined && member !== undefined) addList(list)?.add(member)
  return {
    names,
    texts: outputs
      .filter(({ filter }) => filter === undefined || !(LIST_FILTERS.has(filter) || COMMON_FILTERS.has(filter)))
      .map(({ name }) => name),
    lists: Object.fromEntries([...lists].map(([name, members]) => [name, [...members]])),
    unfillable: references.find(({ unfillable }) => unfillable !== undefined)?.unfillable,
  }
}

type Reference = { list?: string; member?: string; unfillable?: string }

/** `name`, `name.size` and `name[0]` fit texts and lists; `name[0].member` and `name.first.member` lists only. */
function readReference([name, place, member, ...more]: Path): Reference {
  if (place === undefined) return {}
  const isItem = Number.isInteger(place) || place === 'first' || place === 'last'
  if (member === undefined && (isLength(place) || Number.isInteger(place))) return {}
  if (isItem && typeof member === 'string' && isText(more)) return { list: String(name), member }
  return { unfillable: [name, place, member, ...more].filter((part) => part !== undefined).join('.') }
}

function readItemReference([variable, member, ...more]: Path, list: string): Reference {
  if (member === undefined) return {}
  if (typeof member === 'string' && isText(more)) return { list, member }
  return { unfillable: [variable, member, ...more].join('.') }
}

const isText = (more: Path): boolean => more.length === 0 || (more.length === 1 && isLength(more[0]))
const isLength = (segment: unknown): boolean => segment === 'size' || segment === 'length'

const pathsOf = (variables: Variables, name: string): Path[] =>
  (variables[name] ?? []).map(({ segments }) => [...segments])

function* loopsOf(templates: readonly Template[]): Generator<{ variable: string; list: string }> {
  for (const node of withChildren(templates)) {
    if (!(node instanceof ForTag || node instanceof TablerowTag)) continue
    const list = nameOf(node.collection)
    if (list !== undefined) yield { variable: node.variable, list }
  }
}

function* outputsOf(templates: readonly Template[]): Generator<{ name: string; filter: string | undefined }> {
  for (const node of withChildren(templates)) {
    if (!(node instanceof Output)) continue
    const [first, ...more] = node.value.initial.postfix
    const name = more.length === 0 ? nameOf(first) : undefined
    if (name !== undefined) yield { name, filter: node.value.filters[0]?.name }
  }
}

function* withChildren(templates: readonly Template[]): Generator<Template> {
  for (const node of templates) {
    yield node
    if (node.children !== undefined) yield* withChildren(toValueSync(node.children(false, true)))
  }
}

function nameOf(token: unknown): string | undefined {
  if (!TypeGuards.isPropertyAccessToken(token) || token.variable !== undefined || token.props.length !== 1)
    return undefined
  const [name] = token.props
  return TypeGuards.isWordToken(name) ? name.content : undefined
}
