declare const GRANTED: unique symbol

/** Says that authorization has allowed a request. Only `authorize` makes one. */
export interface Grant {
  readonly [GRANTED]: true
}
