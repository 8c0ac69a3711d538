import { newUserId } from '../../people/people-world.ts'

/** A person as the provider knows them: the user id changes with the phone number. */
/** `dialled`: a number that the provider knows under the person's own. */
export type Person = { name: string; phone: string | null; userId: string; dialled: string }

/** The second one is written with and without the digit that the provider leaves out. */
export const NUMBERS = ['393331110001', '525512340002', '393331110003', '393331110004', '393331110005']
const NAMES = ['Ada', 'Ben', 'Cem']

export function createPersons(): Person[] {
  return NAMES.map((name, place) => ({
    ...{ name, phone: NUMBERS[place] ?? null, userId: newUserId(), dialled: `39333222000${place}` },
  }))
}

/** The person moves to a number that no one has. The provider makes a new user id. */
export function moveTo(person: Person, phone: string): void {
  person.phone = phone
  person.userId = newUserId()
}

/** As the provider writes a number, whatever number was requested. */
export const sameNumber = <Digits extends string | null>(digits: Digits) =>
  (digits?.replace(/^521(?=\d{10}$)/, '52') ?? null) as Digits
