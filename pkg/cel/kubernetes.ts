import { AUTHORIZER_FUNCTIONS } from "./library/authorizer.ts"
import { COMPREHENSION_MACROS, COMPREHENSIONS } from "./library/comprehensions.ts"
import { BINDING_MACROS } from "./library/bindings.ts"
import type { FunctionDeclaration } from "./library/declare.ts"
import { JSON_PATCH_FUNCTIONS } from "./library/json-patch.ts"
import { LIST_MACROS, LISTS } from "./library/lists.ts"
import { NAMED_FORMATS } from "./library/named-formats.ts"
import { NETWORK } from "./library/network.ts"
import { OPERATORS } from "./library/operators.ts"
import { OPTIONAL_MACROS, OPTIONALS } from "./library/optional.ts"
import { PATTERNS } from "./library/patterns.ts"
import { QUANTITIES } from "./library/quantity.ts"
import { SEMVERS } from "./library/semver.ts"
import { SETS } from "./library/sets.ts"
import { STANDARD } from "./library/standard.ts"
import { STRINGS } from "./library/strings.ts"
import { TIME } from "./library/time.ts"
import { URLS } from "./library/url.ts"
import { STANDARD_MACROS, type Macro } from "./syntax/macros.ts"

/** Functions and macros for expressions. */
export interface Library {
  readonly functions: readonly FunctionDeclaration[]
  readonly macros: readonly Macro[]
}

/** The library of every expression in Kubernetes 1.36. Source: apiserver pkg/cel/environment/base.go. */
export const KUBERNETES: Library = {
  functions: [
    ...OPERATORS,
    ...STANDARD,
    ...TIME,
    ...OPTIONALS,
    ...URLS,
    ...PATTERNS,
    ...LISTS,
    ...AUTHORIZER_FUNCTIONS,
    ...QUANTITIES,
    ...STRINGS,
    ...SETS,
    ...NETWORK,
    ...NAMED_FORMATS,
    ...COMPREHENSIONS,
    ...SEMVERS,
  ],
  macros: [...STANDARD_MACROS, ...OPTIONAL_MACROS, ...LIST_MACROS, ...COMPREHENSION_MACROS],
}

/** The additional library of mutating policies. Source: apiserver pkg/admission/plugin/policy/mutating. */
export const JSON_PATCH: Library = { functions: JSON_PATCH_FUNCTIONS, macros: [] }

/** The additional library of expressions about devices. Source: dynamic-resource-allocation cel/compile.go. */
export const BINDINGS: Library = { functions: [], macros: BINDING_MACROS }
