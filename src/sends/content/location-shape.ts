import { type Static, Type } from 'typebox'

const LONGEST_LINE = 1_000

export const LocationShape = Type.Object(
  {
    latitude: Type.Number({ minimum: -90, maximum: 90, description: 'Degrees.' }),
    longitude: Type.Number({ minimum: -180, maximum: 180, description: 'Degrees.' }),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: LONGEST_LINE, description: 'The name of the place.' })),
    address: Type.Optional(Type.String({ minLength: 1, maxLength: LONGEST_LINE, description: 'Its address.' })),
  },
  { title: 'Location', additionalProperties: false, description: 'A place on the map.' },
)
export type Location = Static<typeof LocationShape>

export const LOCATION_EXAMPLE = {
  latitude: 41.9028,
  longitude: 12.4964,
  name: 'Rossi Shoes',
  address: 'Via del Corso 12, Roma',
} satisfies Location
