/** The mark of Parley. */
export function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#0d6e66" />
      <path
        d="M9.5 23V11.5c0-1.9 1.6-3.5 3.5-3.5h5.5a5.5 5.5 0 0 1 0 11h-5L9.5 23Z"
        fill="none"
        stroke="#fff"
        strokeWidth="2.6"
        strokeLinejoin="round"
      />
    </svg>
  )
}
