import { type Answer, jsonAnswer } from '../answer.ts'

/** Why the provider refuses: its code, and its text for the log. */
export type Refusal = { code: number; details?: string; status?: number; subcode?: number }

/** The provider's text of each code, and the HTTP status that goes with it (which clients should not rely on). */
const CODES: Record<number, { status: number; title: string }> = {
  0: { status: 401, title: 'AuthException' },
  1: { status: 400, title: 'An unknown error occurred' },
  2: { status: 500, title: 'Service temporarily unavailable' },
  3: { status: 500, title: 'Capability or permissions issue' },
  4: { status: 429, title: 'Application request limit reached' },
  10: { status: 403, title: 'Permission denied' },
  33: { status: 400, title: 'Parameter value is not valid' },
  100: { status: 400, title: 'Invalid parameter' },
  190: { status: 401, title: 'Invalid OAuth access token' },
  200: { status: 403, title: 'You must accept the Marketing Messages Lite API terms to use the API.' },
  368: { status: 403, title: 'Temporarily blocked for policies violations' },
  2500: { status: 400, title: 'Unknown path components' },
  80007: { status: 429, title: 'Rate limit issues' },
  130429: { status: 429, title: 'Rate limit hit' },
  130472: { status: 400, title: "User's number is part of an experiment" },
  130497: { status: 403, title: 'Business account is restricted from messaging users in this country' },
  131000: { status: 500, title: 'Something went wrong' },
  131005: { status: 403, title: 'Access denied' },
  131008: { status: 400, title: 'Required parameter is missing' },
  131009: { status: 400, title: 'Parameter value is not valid' },
  131016: { status: 500, title: 'Service unavailable' },
  131021: { status: 400, title: 'Recipient cannot be sender' },
  131026: { status: 400, title: 'Message undeliverable' },
  131030: { status: 400, title: 'Recipient phone number not in allowed list' },
  131031: { status: 403, title: 'Account has been locked' },
  131037: { status: 400, title: 'Display name is not approved' },
  131042: { status: 400, title: 'Business eligibility payment issue' },
  131045: { status: 500, title: 'Incorrect certificate' },
  131047: { status: 400, title: 'Re-engagement message' },
  131048: { status: 429, title: 'Spam rate limit hit' },
  131049: { status: 400, title: 'Message was not delivered to maintain healthy ecosystem engagement' },
  131050: { status: 400, title: 'User has stopped receiving marketing messages' },
  131051: { status: 400, title: 'Unsupported message type' },
  131052: { status: 400, title: 'Media download error' },
  131053: { status: 400, title: 'Media upload error' },
  131055: { status: 400, title: 'Method not allowed' },
  131056: { status: 429, title: 'Pair rate limit hit' },
  131057: { status: 500, title: 'Account in maintenance mode' },
  131062: { status: 400, title: 'Message type not supported for this recipient' },
  132000: { status: 400, title: 'Number of parameters does not match the expected number of params' },
  132001: { status: 404, title: 'Template name does not exist in the translation' },
  132005: { status: 400, title: 'Translated text too long' },
  132007: { status: 400, title: 'Template content policy violated' },
  132008: { status: 400, title: 'Parameter value is not valid' },
  132012: { status: 400, title: 'Parameter format does not match format in the created template' },
  132015: { status: 400, title: 'Template is paused' },
  132016: { status: 400, title: 'Template is disabled' },
  132018: { status: 400, title: 'Parameter value is not valid' },
  139100: { status: 400, title: 'Block list limit reached' },
  133004: { status: 503, title: 'Server temporarily unavailable' },
  133010: { status: 400, title: 'Phone number not registered' },
}

/** The provider's title of an error code; `Refused` for an unknown one. */
export const titleOf = (code: number): string => CODES[code]?.title ?? 'Refused'

/** The provider's error body for a refusal. */
export function refuse(refusal: Refusal, trace: string): Answer {
  const { code, details, subcode } = refusal
  const error = {
    message: `(#${code}) ${titleOf(code)}`,
    type: 'OAuthException',
    code,
    ...(details !== undefined && { error_data: { messaging_product: 'whatsapp', details } }),
    ...(subcode !== undefined && { error_subcode: subcode }),
    fbtrace_id: trace,
  }
  return jsonAnswer({ error }, refusal.status ?? CODES[code]?.status ?? 400)
}

/** No bearer, or an empty one. */
export const tokenMissing = (trace: string): Answer =>
  refuse({ code: 190, details: 'An access token is required' }, trace)

/** A bearer that is no longer good. */
export const tokenInvalid = (trace: string): Answer => refuse({ code: 190, details: 'The session is invalid' }, trace)

/** The object of the path is none of ours, or cannot do what was asked. */
export function objectMissing(method: string, id: string, trace: string): Answer {
  const error = {
    message: `Unsupported ${method.toLowerCase()} request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation`,
    type: 'GraphMethodException',
    code: 100,
    error_subcode: 33,
    fbtrace_id: trace,
  }
  return jsonAnswer({ error }, 400)
}

/** The answer of a failing gateway in front of the provider. */
export const htmlError = (): Answer => ({
  status: 502,
  contentType: 'text/html; charset=utf-8',
  body: '<!DOCTYPE html><html><head><title>502</title></head><body><h1>Sorry, something went wrong.</h1></body></html>',
})
