/** A line of a JSON text that is laid out over many. */
export type JsonLine = {
  depth: number
  /** The member's name with its quotes; empty in arrays. */
  name: string
  /** The token as it is in the text: numbers keep all their digits. */
  value: string
  kind: 'string' | 'number' | 'literal' | 'bracket'
  /** The line of the closing bracket, of a line that opens one. */
  end: number | null
  /** The members or items that this line opens. */
  size: number
  hasComma: boolean
}

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** The lines of a JSON text; undefined when it is not JSON. */
export function jsonLines(text: string): JsonLine[] | undefined {
  if (!isJson(text)) return undefined
  const tokens = text.match(TOKENS) ?? []
  const lines: JsonLine[] = []
  const open: number[] = []
  let name = ''
  const add = (value: string, kind: JsonLine['kind']) => {
    lines.push({ depth: open.length, name, value, kind, end: null, size: 0, hasComma: false })
    name = ''
  }
  for (const [index, token] of tokens.entries()) {
    const last = lines.at(-1)
    if (token === ':') continue
    if (tokens[index + 1] === ':') name = token
    else if (token === ',') {
      if (last) last.hasComma = true
    } else if (token === '{' || token === '[') {
      countIn(lines, open)
      add(token, 'bracket')
      open.push(lines.length - 1)
    } else if (token === '}' || token === ']') {
      const opener = lines[open.pop() ?? -1]
      if (opener === last && last) last.value += token
      else {
        if (opener) opener.end = lines.length
        add(token, 'bracket')
      }
    } else {
      countIn(lines, open)
      add(token, token.startsWith('"') ? 'string' : /^[-\d]/.test(token) ? 'number' : 'literal')
    }
  }
  return lines
}

function countIn(lines: JsonLine[], open: number[]): void {
  const opener = lines[open.at(-1) ?? -1]
  if (opener) opener.size += 1
}

/** The lines that show while the lines in `closed` are folded. */
export function visibleLines(lines: JsonLine[], closed: ReadonlySet<number>): number[] {
  const visible: number[] = []
  for (let index = 0; index < lines.length; index += 1) {
    visible.push(index)
    const end = lines[index]?.end
    if (closed.has(index) && end !== null && end !== undefined) index = end
  }
  return visible
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
