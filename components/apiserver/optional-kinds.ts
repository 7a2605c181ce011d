/** Loads and serves kinds that are off by default. A server that serves none of them does not load this file. */
import { OPTIONAL_RESOURCES } from "../../pkg/api/optional-resources.ts"
import type { Scheme } from "../../pkg/api/scheme.ts"
import type { OptionalKind } from "../../pkg/component/optional-kinds.ts"

/** Adds the kinds to those that are served. */
export const serveOptionalKinds = (scheme: Scheme, wanted: readonly OptionalKind[]): void =>
  scheme.update(() => {
    for (const resource of OPTIONAL_RESOURCES)
      if (
        wanted.some(
          ({ group, version, plural }) =>
            group === resource.group && version === resource.version && plural === resource.plural,
        )
      )
        scheme.add(resource)
  })
