const form = document.querySelector('form')
const status = form.querySelector('[role=status]')

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const button = form.querySelector('button')
  button.disabled = true
  status.textContent = await subscribe(new FormData(form)).catch(
    () => 'The service cannot be reached. Try again later.',
  )
  button.disabled = false
})

/** Creates or updates the contact; returns what the visitor reads. */
async function subscribe(fields) {
  const { url, key } = form.dataset
  const response = await fetch(`${url}/public/v1/contacts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      email: fields.get('email'),
      ...(fields.get('firstName') !== '' && { firstName: fields.get('firstName') }),
      marketingConsent: { email: true },
    }),
  })
  if (response.ok) return 'Thank you. You are subscribed.'
  if (response.status === 429) return `Too many requests. Try again in ${response.headers.get('retry-after')} seconds.`
  const { error } = await response.json()
  return error.details?.fields?.map(({ path, message }) => `${path} ${message}`).join(', ') ?? error.message
}
