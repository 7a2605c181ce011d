import {
  BOOL,
  BYTES,
  CIDR,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  IP,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  STRING,
  TIMESTAMP,
  TYPE,
  UINT,
} from "./type.ts"
import type { CelType } from "./type.ts"

/**
 * Types that expressions can name, for example in `type(x) == int`. Source: cel-go common/stdlib/standard.go stdTypes.
 */
export const TYPE_NAMES: ReadonlyMap<string, CelType> = new Map(
  [
    BOOL,
    BYTES,
    CIDR,
    IP,
    DOUBLE,
    DURATION,
    INT,
    listOf(DYN),
    mapOf(DYN, DYN),
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    optionalOf(DYN),
  ].map((type) => [type.name, type]),
)
