-- reenter: a simple lock is not entered twice, and not left in part.
-- reply: 0, as if the claim did not hold
return 0
