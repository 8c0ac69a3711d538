import {
  type Content,
  type Described,
  type Parameter,
  readContract as readDocument,
  type Schema,
} from '../contract/contract.ts'

export type { Schema } from '../contract/contract.ts'

/** One operation of the API, as openapi.json describes it. */
export type Operation = {
  name: string
  method: string
  path: string
  parameters: Parameter[]
  bodies: Content
  credential: 'apiKey' | 'adminToken' | 'none'
  /** An API key needs one of them. */
  permissions: string[]
}

/** The operations of openapi.json, and whether it describes an answer. */
export type Contract = {
  operations: Operation[]
  resolve(schema: Schema): Schema
  /** Undefined when the document describes the answer; else what differs. */
  faultOf(operation: Operation, status: number, type: string, text: string): string | undefined
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** The operations of openapi.json, without the stream, whose answer does not end. */
export function readContract(): Contract {
  const { paths, lookUp, faultOf } = readDocument()
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, described]) => toOperation(lookUp, method, path, described)),
  )
  return {
    operations: operations.filter(({ path }) => path !== '/public/v1/events'),
    resolve: (schema) => (schema.$ref === undefined ? schema : lookUp<Schema>(schema.$ref)),
    faultOf: ({ method, path }, status, type, text) => faultOf(method, path, { status, type, text }),
  }
}

function toOperation(
  lookUp: <T>(ref: string) => T,
  method: string,
  path: string,
  { parameters = [], requestBody, security = [{ apiKey: [] }], 'x-permissions': permissions = [] }: Described,
): Operation {
  const names = security.flatMap((one) => Object.keys(one))
  return {
    name: `${method.toUpperCase()} ${path}`,
    method,
    path,
    parameters: parameters.map((one) => (one.$ref === undefined ? one : lookUp<Parameter>(one.$ref))),
    bodies: requestBody?.content ?? {},
    permissions,
    credential: names.includes('apiKey') ? 'apiKey' : names.includes('adminToken') ? 'adminToken' : 'none',
  }
}
