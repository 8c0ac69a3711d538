import build, { type Schema } from 'fast-json-stringify'
import type { FastifySerializerCompiler } from 'fastify'

/** Writes replies by their shapes. A shape is compiled by its first reply: compiling all of them took half of a start of the API. */
export const compileSerializer: FastifySerializerCompiler<Schema> = ({ schema }) => {
  let serialize: ((data: unknown) => string) | undefined
  return (data) => {
    serialize ??= build(schema)
    return serialize(data)
  }
}
