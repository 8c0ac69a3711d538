import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { companyFaults, createCompany, listCompanies } from '../companies/company.ts'
import { operatorErrorResponses } from '../http/shapes.ts'
import { CompanyChangeBody, CompanyReply, NewCompanyBody, toCompanyReply } from './company-shape.ts'
import { changeCompany, closeCompany, companyNamed, type OperatorDeps } from './operator.ts'
import { InCompany, Success } from './shape.ts'

const config = { surface: 'operator' } as const
const tags = ['Operator']

/** Companies (decisions: The operator's side). */
export function companyRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/admin/v1/companies',
      {
        config: { ...config, valueFaults: companyFaults },
        schema: {
          tags,
          operationId: 'createCompany',
          summary: 'Create a company',
          body: NewCompanyBody,
          response: { ...operatorErrorResponses({ 400: 'coded', 422: 'coded' }), 201: CompanyReply },
        },
      },
      async (request, reply) => {
        reply.code(201)
        return toCompanyReply(await createCompany(deps.db, request.body))
      },
    )

    app.get(
      '/admin/v1/companies',
      {
        config,
        schema: {
          tags,
          operationId: 'listCompanies',
          summary: 'List the companies',
          response: { ...operatorErrorResponses(), 200: Type.Array(CompanyReply) },
        },
      },
      async () => (await listCompanies(deps.db)).map(toCompanyReply),
    )

    app.get(
      '/admin/v1/companies/:id',
      {
        config,
        schema: {
          tags,
          operationId: 'getCompany',
          summary: 'Read a company',
          params: InCompany,
          response: { ...operatorErrorResponses({ 404: 'message' }), 200: CompanyReply },
        },
      },
      async (request) => toCompanyReply(await companyNamed(deps.db, request.params.id)),
    )

    app.patch(
      '/admin/v1/companies/:id',
      {
        config: { ...config, valueFaults: companyFaults },
        schema: {
          tags,
          operationId: 'updateCompany',
          summary: 'Change a company',
          params: InCompany,
          body: CompanyChangeBody,
          response: { ...operatorErrorResponses({ 400: 'coded', 404: 'message', 422: 'coded' }), 200: CompanyReply },
        },
      },
      async (request) => {
        const company = await companyNamed(deps.db, request.params.id)
        return toCompanyReply(await changeCompany(deps, company.id, request.body))
      },
    )

    app.delete(
      '/admin/v1/companies/:id',
      {
        config,
        schema: {
          tags,
          operationId: 'removeCompany',
          summary: 'Remove a company',
          description: 'Its keys stop working and its numbers can be connected by others. Its data stays.',
          params: InCompany,
          response: { ...operatorErrorResponses({ 404: 'message' }), 200: Success },
        },
      },
      async (request) => {
        const company = await companyNamed(deps.db, request.params.id)
        await closeCompany(deps, company.id)
        return { success: true as const }
      },
    )
  }
}
