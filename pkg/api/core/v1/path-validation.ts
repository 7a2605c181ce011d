import type { Cause } from "../../../apimachinery/errors.ts"
import { invalidValue, invalidValues, NO_CAUSES, tooLong } from "../../../apimachinery/validation/field-errors.ts"
import { isDNS1123Subdomain, type Check } from "../../../apimachinery/validation/names.ts"

/** Rules that several fields of a pod share. Source: pkg/apis/core/validation/validation.go. */

/** Returns the faults that a check finds in a value; none when it is undefined. */
export const checked = (field: string, value: string | undefined, check: Check): readonly Cause[] =>
  value === undefined ? NO_CAUSES : invalidValues(field, value, check(value))

const LONGEST_DRIVER = 63

/** Validates the name of a CSI driver, which may have capital letters. Source: ValidateCSIDriverName. */
export const driverName = (field: string, name: string): readonly Cause[] => [
  ...(name.length > LONGEST_DRIVER ? [tooLong(field, LONGEST_DRIVER)] : []),
  ...invalidValues(field, name, isDNS1123Subdomain(name.toLowerCase())),
]

/** Checks that a relative path stays inside its folder. */
export const localPath = (field: string, path: string): readonly Cause[] =>
  path.startsWith("/") ? [invalidValue(field, path, "must be a relative path")] : withoutBacksteps(field, path)

/**
 * Checks that a relative path stays inside its volume, and that its name does not start with `..`: the kubelet uses
 * such names.
 */
export function localFile(field: string, path: string): readonly Cause[] {
  const found = localPath(field, path)
  return path.startsWith("..") && !path.startsWith("../") && path !== ".."
    ? [...found, invalidValue(field, path, "must not start with '..'")]
    : found
}

export const withoutBacksteps = (field: string, path: string): readonly Cause[] =>
  path.includes("..") && path.split("/").includes("..")
    ? [invalidValue(field, path, "must not contain '..'")]
    : NO_CAUSES

/** Checks the permission bits of a file. */
export const fileMode = (field: string, mode: number | undefined): readonly Cause[] =>
  mode !== undefined && (mode > 0o777 || mode < 0)
    ? [invalidValue(field, mode, "must be a number between 0 and 0777 (octal), both inclusive")]
    : NO_CAUSES
