/** Sets a key, which may be `__proto__`: an assignment would set the prototype instead. */
export function setKey(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true })
  else object[key] = value
}

/** Returns what an object has under a key; undefined for what it only inherits, such as `constructor`. */
export const ownValue = (object: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined

/** Does the same for an object of JSON, whose values are no functions: cheaper, for what every write compares. */
export function jsonValue(object: Readonly<Record<string, unknown>>, key: string): unknown {
  const value = object[key]
  return typeof value === "function" || value === Object.prototype ? undefined : value
}
