import { escapeLiteral } from 'pg'

export type Settings = Readonly<Record<string, string>>

export type SettingStatement = { readonly text: string; readonly values: string[]; readonly literal: string }

/** `set_config` takes every value as text, including lists such as `search_path`. */
export function settingStatement(settings: Settings, { isLocal }: { isLocal: boolean }): SettingStatement {
  const entries = Object.entries(settings)
  const call = (name: string, value: string) => `set_config(${name}, ${value}, ${isLocal})`
  return {
    text: `select ${entries.map((_, i) => call(`$${2 * i + 1}`, `$${2 * i + 2}`)).join(', ')}`,
    values: entries.flat(),
    literal: `select ${entries.map(([name, value]) => call(escapeLiteral(name), escapeLiteral(value))).join(', ')}`,
  }
}
