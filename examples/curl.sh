# Every operation of the API as a curl command. Generated from openapi.json by `npm run generate`. Do not edit.
#
#   export PARLEY_URL=http://127.0.0.1:3000
#   export PARLEY_KEY=…        an API key
#   export ADMIN_TOKEN=…       for /admin/v1
#
# Copy the commands that you need. Ids are variables such as CONTACT_ID.

## Credentials

# Get the company and permissions of the credential (getMe)
curl -sS "$PARLEY_URL/public/v1/me" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Stream changes as they happen (streamEvents)
curl -sS "$PARLEY_URL/public/v1/events" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Create a link that signs in to the console (createSignInLink)
curl -sS -X POST "$PARLEY_URL/public/v1/console/sign-in-links" \
  -H "Authorization: Bearer $PARLEY_KEY" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "name": "Mara",
  "role": "agent",
  "permissions": [
    "WhatsApp"
  ]
}'

## WhatsApp

# Send a WhatsApp message (sendWhatsAppMessage)
curl -sS -X POST "$PARLEY_URL/public/v1/templates/whatsapp/send" \
  -H "Authorization: Bearer $PARLEY_KEY" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "recipient": "393331234567",
  "type": "text",
  "text": "Your order 1042 is ready."
}'

# List the connected numbers (listSenders)
curl -sS "$PARLEY_URL/public/v1/templates/whatsapp/senders" \
  -H "Authorization: Bearer $PARLEY_KEY"

# List the WhatsApp templates (listWhatsAppTemplates)
curl -sS "$PARLEY_URL/public/v1/templates/whatsapp" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Count sent and billable messages (getUsage)
curl -sS "$PARLEY_URL/public/v1/whatsapp/usage?from=$FROM&to=$TO" \
  -H "Authorization: Bearer $PARLEY_KEY"

## Conversations

# List conversations (listConversations)
curl -sS "$PARLEY_URL/public/v1/whatsapp/conversations" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Get a conversation (getConversation)
curl -sS "$PARLEY_URL/public/v1/whatsapp/conversations/$CHAT_ID" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Close, snooze, re-open or assign a conversation, or mark it read (updateConversation)
curl -sS -X PATCH "$PARLEY_URL/public/v1/whatsapp/conversations/$CHAT_ID" \
  -H "Authorization: Bearer $PARLEY_KEY" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "status": "closed",
  "unreadMessages": 0
}'

# List the messages of a conversation (listMessages)
curl -sS "$PARLEY_URL/public/v1/whatsapp/conversations/$CHAT_ID/messages" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Send a message in a conversation (sendMessage)
curl -sS -X POST "$PARLEY_URL/public/v1/whatsapp/conversations/$CHAT_ID/messages" \
  -H "Authorization: Bearer $PARLEY_KEY" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "type": "text",
  "text": "Your order 1042 is ready."
}'

# Get a message with its statuses and deliveries (getMessage)
curl -sS "$PARLEY_URL/public/v1/whatsapp/conversations/$CHAT_ID/messages/$MESSAGE_ID" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Show that an agent answers a conversation (showAnswering)
curl -sS -X POST "$PARLEY_URL/public/v1/whatsapp/conversations/$CHAT_ID/answering" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Read the file of a message (getMedia)
curl -sS "$PARLEY_URL/media/$TOKEN"

## Webhook registrations

# Register a receiver (createRegistration)
curl -sS -X POST "$PARLEY_URL/public/v1/webhooks/registrations" \
  -H "Authorization: Bearer $PARLEY_KEY" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "name": "Order desk",
  "url": "https://shop.example.com/hooks/whatsapp",
  "events": [
    "whatsapp.message.received"
  ],
  "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
}'

# List the receivers (listRegistrations)
curl -sS "$PARLEY_URL/public/v1/webhooks/registrations" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Read a receiver (getRegistration)
curl -sS "$PARLEY_URL/public/v1/webhooks/registrations/$REGISTRATION_ID" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Change a receiver (updateRegistration)
curl -sS -X PUT "$PARLEY_URL/public/v1/webhooks/registrations/$REGISTRATION_ID" \
  -H "Authorization: Bearer $PARLEY_KEY" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "status": "inactive"
}'

# Remove a receiver (removeRegistration)
curl -sS -X DELETE "$PARLEY_URL/public/v1/webhooks/registrations/$REGISTRATION_ID" \
  -H "Authorization: Bearer $PARLEY_KEY"

# List deliveries (listDeliveries)
curl -sS "$PARLEY_URL/public/v1/webhooks/registrations/$REGISTRATION_ID/deliveries" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Get a delivery with its attempts (getDelivery)
curl -sS "$PARLEY_URL/public/v1/webhooks/registrations/$REGISTRATION_ID/deliveries/$DELIVERY_ID" \
  -H "Authorization: Bearer $PARLEY_KEY"

# List delivery attempts (listDeliveryAttempts)
curl -sS "$PARLEY_URL/public/v1/webhooks/registrations/$REGISTRATION_ID/logs" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Send one sample delivery (testRegistration)
curl -sS -X POST "$PARLEY_URL/public/v1/webhooks/registrations/$REGISTRATION_ID/test" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Repeat a delivery (redeliver)
curl -sS -X POST "$PARLEY_URL/public/v1/webhooks/registrations/$REGISTRATION_ID/logs/$DELIVERY_ATTEMPT_ID/redeliver" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Repeat the deliveries of a time range (redeliverRange)
curl -sS -X POST "$PARLEY_URL/public/v1/webhooks/registrations/$REGISTRATION_ID/redeliver" \
  -H "Authorization: Bearer $PARLEY_KEY" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "since": "2026-03-01T00:00:00Z",
  "onlyDeadLettered": true
}'

## Provider

# Answer the verification handshake (verifyProviderWebhook)
curl -sS "$PARLEY_URL/public/v1/webhooks/whatsapp"

# Receive events (receiveProviderEvents)
curl -sS -X POST "$PARLEY_URL/public/v1/webhooks/whatsapp" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "object": "whatsapp_business_account",
  "entry": [
    {
      "id": "102290129340398",
      "changes": []
    }
  ]
}'

# Receive events, with the secret in the path (receiveProviderEventsWithSecret)
curl -sS -X POST "$PARLEY_URL/public/v1/webhooks/whatsapp/$SECRET" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "object": "whatsapp_business_account",
  "entry": [
    {
      "id": "102290129340398",
      "changes": []
    }
  ]
}'

## Contacts

# Create or update contacts (upsertContacts)
curl -sS -X POST "$PARLEY_URL/public/v1/contacts" \
  -H "Authorization: Bearer $PARLEY_KEY" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "email": "ada.rossi@example.com",
  "phone": "+393331234567",
  "firstName": "Ada",
  "lastName": "Rossi",
  "tags": [
    "newsletter"
  ],
  "customFields": {
    "LOYALTY_TIER": "gold"
  },
  "marketingConsent": {
    "email": true
  }
}'

# List and search contacts (listContacts)
curl -sS "$PARLEY_URL/public/v1/contacts" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Read a contact (getContact)
curl -sS "$PARLEY_URL/public/v1/contacts/$CONTACT_ID" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Update a contact (updateContact)
curl -sS -X PUT "$PARLEY_URL/public/v1/contacts/$CONTACT_ID" \
  -H "Authorization: Bearer $PARLEY_KEY" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "email": "ada.rossi@example.com",
  "phone": "+393331234567",
  "firstName": "Ada",
  "lastName": "Rossi",
  "tags": [
    "newsletter"
  ],
  "customFields": {
    "LOYALTY_TIER": "gold"
  },
  "marketingConsent": {
    "email": true
  }
}'

# Delete or erase a contact (deleteContact)
curl -sS -X DELETE "$PARLEY_URL/public/v1/contacts/$CONTACT_ID" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Look a contact up by email (getContactByEmail)
curl -sS "$PARLEY_URL/public/v1/contacts/by-email/$EMAIL" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Read everything stored about a contact (archiveContact)
curl -sS "$PARLEY_URL/public/v1/contacts/$CONTACT_ID/archive" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Import a list of contacts (importContacts)
curl -sS -X POST "$PARLEY_URL/public/v1/contacts/import" \
  -H "Authorization: Bearer $PARLEY_KEY" \
  -H 'Content-Type: text/csv' \
  --data-binary 'email,first_name,custom_fields.LOYALTY_TIER
ada.rossi@example.com,Ada,gold
'

# List imports (listImports)
curl -sS "$PARLEY_URL/public/v1/contacts/imports" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Cancel an import (cancelImport)
curl -sS -X DELETE "$PARLEY_URL/public/v1/contacts/imports/$IMPORT_ID" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Read the progress of an import (getImport)
curl -sS "$PARLEY_URL/public/v1/contacts/imports/$IMPORT_ID" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Download the refused rows of an import (downloadRefusedRows)
curl -sS "$PARLEY_URL/public/v1/contacts/imports/$IMPORT_ID/refused" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Export all contacts (exportContacts)
curl -sS "$PARLEY_URL/public/v1/contacts/export" \
  -H "Authorization: Bearer $PARLEY_KEY"

## Custom fields

# Define a custom field (createCustomField)
curl -sS -X POST "$PARLEY_URL/public/v1/custom-fields" \
  -H "Authorization: Bearer $PARLEY_KEY" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "key": "LOYALTY_TIER",
  "displayName": "Loyalty tier",
  "type": "select",
  "category": "Loyalty",
  "allowedValues": [
    "silver",
    "gold"
  ]
}'

# List custom fields (listCustomFields)
curl -sS "$PARLEY_URL/public/v1/custom-fields" \
  -H "Authorization: Bearer $PARLEY_KEY"

## Email

# Read the statistics of an email (getEmailStats)
curl -sS "$PARLEY_URL/public/v1/emails/$EMAIL_ID/stats" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Send an email (sendEmail)
curl -sS -X POST "$PARLEY_URL/public/v1/emails" \
  -H "Authorization: Bearer $PARLEY_KEY" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "to": "ada.rossi@example.com",
  "subject": "Your order 1042",
  "html": "<p>Hello Ada, your order is <a href=\"https://shop.example.com/orders/1042\">on its way</a>.</p>",
  "text": "Hello Ada, your order is on its way.",
  "replyTo": "orders@shop.example.com"
}'

# Read the statistics of an email template (getEmailTemplateStats)
curl -sS "$PARLEY_URL/public/v1/transactionals/$TRANSACTIONAL_ID/stats" \
  -H "Authorization: Bearer $PARLEY_KEY"

# Send an email made from a template (sendTemplateEmail)
curl -sS -X POST "$PARLEY_URL/public/v1/templates/email/send" \
  -H "Authorization: Bearer $PARLEY_KEY" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "uid": "tmpl_8d41f0c2a96b",
  "recipient": "ada.rossi@example.com",
  "customFields": {
    "first_name": "Ada"
  }
}'

# List the email templates (listEmailTemplates)
curl -sS "$PARLEY_URL/public/v1/templates/email" \
  -H "Authorization: Bearer $PARLEY_KEY"

## Operator

# Create a company (createCompany)
curl -sS -X POST "$PARLEY_URL/admin/v1/companies" \
  -H "Authorization: Bearer $ADMIN_TOKEN" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "name": "Rossi Shoes"
}'

# List the companies (listCompanies)
curl -sS "$PARLEY_URL/admin/v1/companies" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Read a company (getCompany)
curl -sS "$PARLEY_URL/admin/v1/companies/$COMPANY_ID" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Change a company (updateCompany)
curl -sS -X PATCH "$PARLEY_URL/admin/v1/companies/$COMPANY_ID" \
  -H "Authorization: Bearer $ADMIN_TOKEN" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "rateLimitPerMinute": 600
}'

# Remove a company (removeCompany)
curl -sS -X DELETE "$PARLEY_URL/admin/v1/companies/$COMPANY_ID" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Create an API key (createApiKey)
curl -sS -X POST "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/api-keys" \
  -H "Authorization: Bearer $ADMIN_TOKEN" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "name": "Shop server",
  "permissions": [
    "WhatsApp",
    "Transactional"
  ]
}'

# List the API keys that are not revoked (listApiKeys)
curl -sS "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/api-keys" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Change an API key for browsers (changeApiKey)
curl -sS -X PATCH "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/api-keys/$CLIENT_ID" \
  -H "Authorization: Bearer $ADMIN_TOKEN" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "rateLimitPerAddress": 10
}'

# Revoke an API key (revokeApiKey)
curl -sS -X DELETE "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/api-keys/$CLIENT_ID" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Connect a WhatsApp number (connectSender)
curl -sS -X POST "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/senders" \
  -H "Authorization: Bearer $ADMIN_TOKEN" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "provider": "meta",
  "phoneNumber": "+39 06 5550 1234",
  "phoneName": "Rossi Shoes",
  "phoneNumberId": "106540352242922",
  "wabaAccountId": "102290129340398",
  "accessToken": "EAAGm0PX4ZCpsBAKZC",
  "appSecret": "5f1d0c7a9be24e6d"
}'

# List the connected numbers of a company (listCompanySenders)
curl -sS "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/senders" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Read a connected number (getSender)
curl -sS "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/senders/$CHANNEL_ID" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Change a connected number (updateSender)
curl -sS -X PATCH "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/senders/$CHANNEL_ID" \
  -H "Authorization: Bearer $ADMIN_TOKEN" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "isPreferred": true,
  "tier": 2
}'

# Disconnect a number (removeSender)
curl -sS -X DELETE "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/senders/$CHANNEL_ID" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Synchronize the WhatsApp templates with the providers now (syncTemplates)
curl -sS -X POST "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/templates/sync" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Create an email template (createEmailTemplate)
curl -sS -X POST "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/email-templates" \
  -H "Authorization: Bearer $ADMIN_TOKEN" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "name": "Welcome",
  "subject": "Welcome, {{ first_name }}",
  "html": "<p>Hello {{ first_name }}, thank you for joining.</p>",
  "text": null,
  "category": "TRANSACTIONAL"
}'

# List the email templates of a company (listCompanyEmailTemplates)
curl -sS "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/email-templates" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Read an email template (getEmailTemplate)
curl -sS "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/email-templates/$TEMPLATE_ID" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Change an email template (updateEmailTemplate)
curl -sS -X PATCH "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/email-templates/$TEMPLATE_ID" \
  -H "Authorization: Bearer $ADMIN_TOKEN" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "subject": "Welcome back, {{ first_name }}"
}'

# Remove an email template (removeEmailTemplate)
curl -sS -X DELETE "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/email-templates/$TEMPLATE_ID" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Read how a company sends email (getEmailSettings)
curl -sS "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/email-settings" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Set how a company sends email (setEmailSettings)
curl -sS -X PUT "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/email-settings" \
  -H "Authorization: Bearer $ADMIN_TOKEN" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "from": "orders@shop.example.com",
  "fromName": "Rossi Shoes",
  "smtpUrl": "smtp://orders:secret@mail.example.com:587"
}'

# List events without a connected number (listUnroutableEvents)
curl -sS "$PARLEY_URL/admin/v1/unroutable-events" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Read an event without a connected number (getUnroutableEvent)
curl -sS "$PARLEY_URL/admin/v1/unroutable-events/$EVENT_ID" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# List failed events (listFailedEvents)
curl -sS "$PARLEY_URL/admin/v1/failed-events" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Read a failed event (getFailedEvent)
curl -sS "$PARLEY_URL/admin/v1/failed-events/$EVENT_ID" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Process a failed event once more (retryFailedEvent)
curl -sS -X POST "$PARLEY_URL/admin/v1/failed-events/$EVENT_ID/retry" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# List what providers reported about accounts (listAccountEvents)
curl -sS "$PARLEY_URL/admin/v1/account-events" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# List what providers reported about the accounts of a company (listCompanyAccountEvents)
curl -sS "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/account-events" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# List failed jobs (listFailedJobs)
curl -sS "$PARLEY_URL/admin/v1/failed-jobs" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Retry a failed job (retryFailedJob)
curl -sS -X POST "$PARLEY_URL/admin/v1/failed-jobs/$JOB_ID/retry" \
  -H "Authorization: Bearer $ADMIN_TOKEN"

# Create a link that signs in to the console of a company (createSignInLinkForCompany)
curl -sS -X POST "$PARLEY_URL/admin/v1/companies/$COMPANY_ID/sign-in-links" \
  -H "Authorization: Bearer $ADMIN_TOKEN" \
  -H 'Content-Type: application/json' \
  --data-binary '{
  "name": "Mara",
  "role": "agent",
  "permissions": [
    "WhatsApp"
  ]
}'
