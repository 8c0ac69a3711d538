const VARIABLE = /^(npm_config_(cafile|registry|https?_proxy|proxy)|NODE_EXTRA_CA_CERTS|https?_proxy|no_proxy)$/i

/** The variables of the environment that say how this machine reaches the npm registry. */
export const registryAccess = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && VARIABLE.test(name) ? [[name, value]] : [],
    ),
  )
