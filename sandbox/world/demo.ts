import type { Account, PhoneNumber } from './account.ts'
import { createTemplate, type Template, type TemplateComponent, type TemplateRecord } from './template.ts'

export const DEMO_ACCOUNT: Account = { id: '200000000000001', name: 'Parley demo' }

/** Numbers from the range that Ofcom keeps for drama: no telephone will ever ring. */
export const DEMO_NUMBERS: PhoneNumber[] = [
  {
    id: '100000000000001',
    displayPhoneNumber: '+44 7700 900100',
    verifiedName: 'Parley Demo',
    wabaAccountId: DEMO_ACCOUNT.id,
  },
  {
    id: '100000000000002',
    displayPhoneNumber: '+44 7700 900101',
    verifiedName: 'Parley Demo Support',
    wabaAccountId: DEMO_ACCOUNT.id,
  },
]

/** The receiver that a first start registers for the demo company; the service has the same secret. */
export const DEMO_RECEIVER = { name: 'demo', secret: 'demo-secret-of-16-or-more' }

/** The demo account's templates: every category, both parameter formats, and one for each reason not to be sendable. */
export const demoTemplates = (): Template[] =>
  [
    template(1, 'order_update', 'en_US', 'UTILITY', [
      body('Hello {{1}}, your order {{2}} has been updated.', ['Ada', 'A-10423']),
      footer('Parley Demo'),
    ]),
    template(2, 'order_update', 'it', 'UTILITY', [
      body('Ciao {{1}}, il tuo ordine {{2}} è stato aggiornato.', ['Ada', 'A-10423']),
      footer('Parley Demo'),
    ]),
    template(3, 'order_ready', 'en_US', 'UTILITY', [
      { type: 'HEADER', format: 'IMAGE', example: { header_handle: ['https://example.com/order.png'] } },
      body('{{1}}, your order {{2}} is ready for collection.', ['Ada', 'A-10423']),
      {
        type: 'BUTTONS',
        buttons: [
          { type: 'QUICK_REPLY', text: 'I am coming' },
          { type: 'URL', text: 'Track order', url: 'https://example.com/orders/{{1}}', example: ['A-10423'] },
        ],
      },
    ]),
    template(4, 'welcome_offer', 'en_US', 'MARKETING', [named()], { parameter_format: 'NAMED' }),
    template(5, 'verify_code', 'en_US', 'AUTHENTICATION', [
      {
        ...body('*{{1}}* is your verification code. For your security, do not share this code.', ['123456']),
        add_security_recommendation: true,
      },
      { type: 'FOOTER', text: 'This code expires in 10 minutes.', code_expiration_minutes: 10 },
      {
        type: 'BUTTONS',
        buttons: [{ type: 'URL', text: 'Copy code', url: `${OTP_URL}{{1}}`, example: [`${OTP_URL}123456`] }],
      },
    ]),
    template(6, 'shipping_notice', 'en_US', 'UTILITY', [{ type: 'BODY', text: 'Your parcel has left our warehouse.' }]),
    template(7, 'season_preview', 'en_US', 'MARKETING', [body('{{1}}, see what is new.', ['Ada'])], {
      status: 'PENDING',
    }),
    template(8, 'big_prize', 'en_US', 'MARKETING', [{ type: 'BODY', text: 'You have won!' }], {
      status: 'REJECTED',
      rejected_reason: 'PROMOTIONAL',
    }),
    template(9, 'feedback_invite', 'en_US', 'MARKETING', [body('How was it, {{1}}?', ['Ada'])], {
      status: 'PAUSED',
      quality_score: { score: 'RED', date: 1_758_412_800 },
    }),
  ].map((record) => createTemplate(DEMO_ACCOUNT.id, record))

/** How the provider itself lists the button that copies a one-time code. */
const OTP_URL = 'https://www.whatsapp.com/otp/code/?otp_type=COPY_CODE&code_expiration_minutes=10&code=otp'

/** Ids are the same at every start, so that a service that synced them earlier still knows them. */
function template(
  number: number,
  name: string,
  language: string,
  category: string,
  components: TemplateComponent[],
  others: Partial<TemplateRecord> = {},
): TemplateRecord {
  return {
    id: String(300_000_000_000_000 + number),
    name,
    language,
    status: 'APPROVED',
    category,
    parameter_format: 'POSITIONAL',
    rejected_reason: 'NONE',
    quality_score: { score: 'GREEN', date: 1_758_412_800 },
    components,
    ...others,
  }
}

const body = (text: string, examples: string[]): TemplateComponent => ({
  type: 'BODY',
  text,
  example: { body_text: [examples] },
})

const footer = (text: string): TemplateComponent => ({ type: 'FOOTER', text })

const named = (): TemplateComponent => ({
  type: 'BODY',
  text: 'Welcome {{first_name}}! Use the code {{code}} for your first order.',
  example: {
    body_text_named_params: [
      { param_name: 'first_name', example: 'Ada' },
      { param_name: 'code', example: 'HELLO10' },
    ],
  },
})
