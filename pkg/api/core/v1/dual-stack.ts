import { isIP } from "node:net"
import type { Cause } from "../../../apimachinery/errors.ts"
import { internalFault, invalidValue, invalidValues, within } from "../../../apimachinery/validation/field-errors.ts"
import { isCIDR, isIPAddress, withoutLeadingZeros, type Check } from "../../../apimachinery/validation/names.ts"

/**
 * Fields that had one address each before dual-stack: the single field and the list exist side by side. Source:
 * pkg/apis/core/v1/conversion.go, and validatePodIPs, validateHostIPs and ValidateNode in
 * pkg/apis/core/validation/validation.go.
 */

/** Returns the list that both fields stand for: only the single value if it is not the first item of the list. */
export function listBeside<T>(single: string, list: readonly T[], of: (item: T) => string, make: (value: string) => T) {
  return single !== "" && (list.length === 0 || of(list[0]!) !== single) ? [make(single)] : list
}

interface Kind {
  readonly check: Check
  readonly isReadable: (value: string) => boolean
  readonly wrong: (value: string, i: number) => string
  readonly tooMany: string
}

const isReadableAddress = (value: string): boolean => !value.includes("%") && isIP(withoutLeadingZeros(value)) !== 0

const ADDRESSES: Kind = {
  check: isIPAddress,
  isReadable: isReadableAddress,
  wrong: (value, i) => `failed to check for dual stack with error:invalid IP[${i}]: ${value}`,
  tooMany: "may specify no more than one IP for each IP family",
}
const RANGES: Kind = {
  check: isCIDR,
  isReadable(value) {
    const [address = "", bits = "", ...more] = value.split("/")
    return (
      more.length === 0 &&
      /^\d{1,3}$/.test(bits) &&
      isReadableAddress(address) &&
      Number(bits) <= (address.includes(":") ? 128 : 32)
    )
  },
  wrong: (value, i) =>
    `invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[${i}]: <nil> (invalid CIDR ` +
    `address: ${value})`,
  tooMany: "may specify no more than one CIDR for each IP family",
}

/** Returns the faults of addresses: at most one of each family is allowed. `shown` returns the list in messages. */
export const addressesFaults = (values: readonly string[], shown: () => unknown): readonly Cause[] =>
  faultsOf(values, shown, ADDRESSES)

/** Returns the faults of ranges of addresses in the same way. */
export const rangesFaults = (values: readonly string[]): readonly Cause[] => faultsOf(values, () => values, RANGES)

function faultsOf(values: readonly string[], shown: () => unknown, kind: Kind): readonly Cause[] {
  const causes: Cause[] = []
  for (let i = 0; i < values.length; i++) within(causes, invalidValues("", values[i], kind.check(values[i]!)), i)
  if (values.length < 2) return causes
  const unreadable = values.findIndex((value) => !kind.isReadable(value))
  if (unreadable >= 0) causes.push(internalFault("", kind.wrong(values[unreadable]!, unreadable)))
  const families = new Set(values.map((value) => value.includes(":")))
  if (unreadable >= 0 || values.length > 2 || families.size < 2) causes.push(invalidValue("", shown(), kind.tooMany))
  return causes
}
