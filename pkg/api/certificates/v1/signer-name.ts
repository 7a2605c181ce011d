import type { Cause } from "../../../apimachinery/errors.ts"
import { invalidValue, NO_CAUSES, required, tooLong } from "../../../apimachinery/validation/field-errors.ts"
import { isDNS1123Label, isDNS1123Subdomain, type Check } from "../../../apimachinery/validation/names.ts"

const LONGEST_DOMAIN = 253
const LONGEST_NAME = LONGEST_DOMAIN + 1 + 253 + 63 + 1

/** The name of a signer: `<domain>/<path>`. Source: ValidateSignerName in pkg/apis/core/validation. */
export function signerNameFaults(field: string, name: string): readonly Cause[] {
  if (name === "") return [required(field)]
  const parts = name.split("/")
  if (parts.length !== 2)
    return [
      invalidValue(field, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'"),
    ]
  const [domain, path] = parts as [string, string]
  return [
    ...(domain.length > LONGEST_DOMAIN ? [tooLong(field, LONGEST_DOMAIN)] : []),
    ...labelFaults(field, domain, isDNS1123Label),
    ...(domain.includes(".")
      ? []
      : [invalidValue(field, domain, "should be a domain with at least two segments separated by dots")]),
    ...labelFaults(field, path, isDNS1123Subdomain),
    ...(name.length > LONGEST_NAME ? [tooLong(field, LONGEST_NAME)] : []),
  ]
}

/** Returns the faults of the first label that is wrong. */
function labelFaults(field: string, text: string, check: Check): readonly Cause[] {
  for (const label of text.split(".")) {
    const problem = check(label)
    if (problem !== undefined)
      return [problem]
        .flat()
        .map((each) => invalidValue(field, text, `validating label ${JSON.stringify(label)}: ${each}`))
  }
  return NO_CAUSES
}
