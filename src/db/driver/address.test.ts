import { expect, test } from 'vitest'
import { pooledAddress, readAddress } from './address.ts'

const BASE = {
  user: undefined,
  password: undefined,
  database: undefined,
  tls: false,
  channelBinding: 'disable',
  attributes: 'any',
  isPooled: false,
  startup: {},
  settings: {},
}

test.each([
  ['postgres://', { hosts: [{}] }],
  ['postgresql://db/x', { hosts: [{ host: 'db' }], database: 'x' }],
  [
    'postgres://u%40x:p%3A:%2F@a:1,[::1]:2/x%20y?target_session_attrs=primary',
    {
      hosts: [
        { host: 'a', port: 1 },
        { host: '::1', port: 2 },
      ],
      user: 'u@x',
      password: 'p::/',
      database: 'x y',
      attributes: 'primary',
    },
  ],
  ['postgres://u@:5433/x?host=/run/pg', { hosts: [{ host: '/run/pg', port: 5433 }], user: 'u', database: 'x' }],
  ['postgres://%2Frun%2Fpg/x', { hosts: [{ host: '/run/pg' }], database: 'x' }],
  ['postgres://db/x?search_path=a', { hosts: [{ host: 'db' }], database: 'x', settings: { search_path: 'a' } }],
  [
    'postgres://db/x?pgbouncer=true&options=endpoint%3Dep-1',
    { hosts: [{ host: 'db' }], database: 'x', isPooled: true, startup: { options: 'endpoint=ep-1' } },
  ],
  [
    'postgres://db/x?options=-c%20geqo%3Doff%20--work-mem%3D8MB%20endpoint%3Dep-1%20-csearch_path%3Da%2C%5C%20b',
    {
      hosts: [{ host: 'db' }],
      database: 'x',
      startup: { options: 'endpoint=ep-1' },
      settings: { geqo: 'off', work_mem: '8MB', search_path: 'a, b' },
    },
  ],
  [
    'postgres://db/x?connect_timeout=10&keepalives_idle=5&gssencmode=disable',
    { hosts: [{ host: 'db' }], database: 'x' },
  ],
  ['postgres://db/x?sslmode=require', { hosts: [{ host: 'db' }], database: 'x', tls: { rejectUnauthorized: false } }],
  [
    'postgres://db/x?sslmode=require&channel_binding=require',
    { hosts: [{ host: 'db' }], database: 'x', tls: { rejectUnauthorized: false }, channelBinding: 'require' },
  ],
])('reads %s', (url, expected) => {
  expect(readAddress(url)).toEqual({ ...BASE, ...expected })
})

test.each([
  ['mysql://db/x', 'must begin with postgres://'],
  [
    'postgres://db/x?target_session_attrs=prefer-standby',
    'must be one of any, read-write, read-only, primary, standby',
  ],
  ['postgres://db/x?channel_binding=always', 'channel_binding in DATABASE_URL must be one of disable, prefer, require'],
  ['postgres://db/x?pgbouncer=1', 'pgbouncer in DATABASE_URL must be one of true, false, not 1'],
  ['postgres://db/x?gssencmode=require', 'gssencmode in DATABASE_URL must be one of disable, prefer, not require'],
  ['postgres://u:50%@db/x', 'write % as %25'],
])('refuses %s', (url, message) => {
  expect(() => readAddress(url)).toThrow(message)
})

test.each([
  'postgres://db/x',
  'postgres://db/x?sslmode=disable',
  'postgres://db/x?pgbouncer=false',
])('the mark of a pooler counts, whatever %s says', (url) => {
  expect(readAddress(url).isPooled).toBe(false)
  expect(readAddress(pooledAddress(url)).isPooled).toBe(true)
})
