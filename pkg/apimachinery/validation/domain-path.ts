import type { Cause } from "../errors.ts"
import { invalidValue, invalidValues, required } from "./field-errors.ts"
import { isDNS1123Subdomain, patternMessage } from "./names.ts"

const PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
const pathPattern = new RegExp(`^${PATH}$`)

/**
 * Returns the faults of a name with a domain, such as `acme.io/foo`. Source: apimachinery pkg/util/validation
 * IsDomainPrefixedPath.
 */
export function domainPathFaults(field: string, value: string): readonly Cause[] {
  if (value === "") return [required(field)]
  const slash = value.indexOf("/")
  const [domain, path] = [value.slice(0, slash), value.slice(slash + 1)]
  if (slash <= 0 || path === "")
    return [invalidValue(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
  return [
    ...invalidValues(field, domain, isDNS1123Subdomain(domain)),
    ...(pathPattern.test(path) ? [] : [invalidValue(field, path, patternMessage("Invalid path", PATH))]),
  ]
}
