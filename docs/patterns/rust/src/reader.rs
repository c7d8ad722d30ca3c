//! JSON, read once from left to right; nothing is allocated here.
//!
//! SPDX-License-Identifier: MIT

pub struct Reader<'a> {
    text: &'a str,
    at: usize,
}

pub type Result<T> = std::result::Result<T, &'static str>;

const DEEPEST: u32 = 64; // a stack is finite

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Self {
        Reader { text, at: 0 }
    }

    fn take(&mut self, wanted: u8) -> bool {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        let found = bytes.get(self.at) == Some(&wanted);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: u8) -> Result<()> {
        self.take(wanted)
            .then_some(())
            .ok_or("a request lacks a bracket, a colon or a quotation mark")
    }

    /// A view of the request. Escapes are not decoded: the names in these requests have none.
    pub fn string(&mut self) -> Result<&'a str> {
        self.expect(b'"')?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() && bytes[self.at] != b'"' {
            self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        let text = self.text.get(start..self.at).ok_or("a string has no end")?;
        self.expect(b'"')?;
        Ok(text)
    }

    fn bare(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.find([',', '}', ']']).unwrap_or(rest.len());
        self.at += length;
        rest[..length].trim_start()
    }

    pub fn number(&mut self) -> Result<i64> {
        self.bare().parse().map_err(|_| "a number was expected")
    }

    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a str) -> Result<()>,
    ) -> Result<()> {
        self.expect(b'{')?;
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            let name = self.string()?;
            self.expect(b':')?;
            member(self, name)?;
            if !self.take(b',') {
                return self.expect(b'}');
            }
        }
    }

    pub fn array(&mut self, mut element: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.expect(b'[')?;
        if self.take(b']') {
            return Ok(());
        }
        loop {
            element(self)?;
            if !self.take(b',') {
                return self.expect(b']');
            }
        }
    }

    /// Over any value.
    pub fn skip(&mut self) -> Result<()> {
        self.skip_from(0)
    }

    fn skip_from(&mut self, depth: u32) -> Result<()> {
        if depth > DEEPEST {
            return Err("a request is nested too deeply");
        }
        if self.take(b'"') {
            self.at -= 1;
            self.string().map(|_| ())
        } else if self.take(b'{') {
            self.at -= 1;
            // Without dyn the compiler would make a function for each depth, and never end.
            let each: &mut dyn FnMut(&mut Self, &'a str) -> Result<()> =
                &mut |json, _| json.skip_from(depth + 1);
            self.object(each)
        } else if self.take(b'[') {
            self.at -= 1;
            let each: &mut dyn FnMut(&mut Self) -> Result<()> =
                &mut |json| json.skip_from(depth + 1);
            self.array(each)
        } else {
            self.bare();
            Ok(())
        }
    }
}
