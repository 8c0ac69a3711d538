import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { companyFaults, createCompany, listCompanies } from '../../companies/company.ts'
import type { Db } from '../../db/connect.ts'
import { answerOnce } from '../../http/idempotency/idempotency.ts'
import { Success } from '../../http/shapes.ts'
import { changeCompany, companyIdNamed, companyNamed, type OperatorDeps, removeCompany, succeed } from '../operator.ts'
import { InCompany } from '../shape.ts'
import { CompanyChangeBody, CompanyReply, NewCompanyBody, toCompanyReply } from './company-shape.ts'

export function companyRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/admin/v1/companies',
      {
        config: { valueFaults: companyFaults },
        schema: {
          operationId: 'createCompany',
          summary: 'Create a company',
          description: 'Creates a company without keys and numbers.',
          body: NewCompanyBody,
          response: { 201: CompanyReply },
        },
      },
      (request, reply) => {
        const create = async (tx: Db) => toCompanyReply(await createCompany(tx, request.body))
        return answerOnce(deps.db, request, reply, 201, create)
      },
    )

    app.get(
      '/admin/v1/companies',
      {
        schema: {
          operationId: 'listCompanies',
          summary: 'List companies',
          description: 'Returns all companies, ordered by id.',
          response: { 200: Type.Array(CompanyReply, { description: 'All of them.' }) },
        },
      },
      async () => (await listCompanies(deps.db)).map(toCompanyReply),
    )

    app.get(
      '/admin/v1/companies/:id',
      {
        schema: {
          operationId: 'getCompany',
          summary: 'Get a company',
          description: 'Returns one company.',
          params: InCompany,
          response: { 200: CompanyReply },
        },
      },
      async (request) => toCompanyReply(await companyNamed(deps.db, request.params.id)),
    )

    app.patch(
      '/admin/v1/companies/:id',
      {
        config: { valueFaults: companyFaults },
        schema: {
          operationId: 'updateCompany',
          summary: 'Update a company',
          description: 'Omitted members stay unchanged.',
          params: InCompany,
          body: CompanyChangeBody,
          response: { 200: CompanyReply },
        },
      },
      async ({ body, params }) =>
        toCompanyReply(await changeCompany(deps, await companyIdNamed(deps.db, params.id), body)),
    )

    app.delete(
      '/admin/v1/companies/:id',
      {
        schema: {
          operationId: 'removeCompany',
          summary: 'Delete a company',
          description: "The company's keys stop working, and other companies can connect its numbers. Its data stays.",
          params: InCompany,
          response: { 200: Success },
        },
      },
      async ({ params }) => succeed(removeCompany(deps, await companyIdNamed(deps.db, params.id))),
    )
  }
}
