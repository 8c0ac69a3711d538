import { escapeLiteral } from 'pg'

/** Settings of PostgreSQL, by their names. */
export type Settings = Readonly<Record<string, string>>

/** A statement that sets them, with parameters, and the same as text without any. */
export type SettingStatement = { readonly text: string; readonly values: string[]; readonly literal: string }

/**
 * The statement that sets them for the session or, `isLocal`, for the transaction. `set_config` takes every value as text, lists
 * such as that of `search_path`, too.
 */
export function settingStatement(settings: Settings, { isLocal }: { isLocal: boolean }): SettingStatement {
  const entries = Object.entries(settings)
  const call = (name: string, value: string) => `set_config(${name}, ${value}, ${isLocal})`
  return {
    text: `select ${entries.map((_, i) => call(`$${2 * i + 1}`, `$${2 * i + 2}`)).join(', ')}`,
    values: entries.flat(),
    literal: `select ${entries.map(([name, value]) => call(escapeLiteral(name), escapeLiteral(value))).join(', ')}`,
  }
}
