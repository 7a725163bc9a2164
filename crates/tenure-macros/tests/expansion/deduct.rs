/// Takes one from the shelf.
async fn deduct(&self, product_id: &str) -> Result<u32, Error> {
    let mut section = {
        let client = ::tenure::locked::client();
        let policy = ::tenure::locked::policy(&client)
            .map(|options| {
                options
                    .lease(::core::time::Duration::from_secs(6))
                    .wait(::core::time::Duration::from_secs(10))
            });
        let key = ::tenure::locked::Parts::new("", 30usize)
            .text("stock:")
            .part("{product_id}", ::core::format_args!("{}", & product_id));
        let site = {
            static SITE: ::tenure::locked::Site = ::tenure::locked::Site::new(
                ::core::concat!(::core::module_path!(), "::deduct"),
            );
            &SITE
        };
        match ::tenure::locked::enter(site, client, &policy, key).await {
            ::core::result::Result::Ok(section) => section,
            ::core::result::Result::Err(error) => {
                return <Result<u32, Error> as ::tenure::locked::Tells>::tell(error);
            }
        }
    };
    let body = async move {
        ::tenure::locked::inside(&(&self, &product_id));
        if let ::core::option::Option::Some(value) = ::core::option::Option::None::<
            Result<u32, Error>,
        > {
            return value;
        }
        let left = self.count(product_id).await? - 1;
        self.store(product_id, left).await?;
        Ok(left)
    };
    let body = ::core::pin::pin!(body);
    match section.run(body).await {
        ::core::result::Result::Ok(value) => value,
        ::core::result::Result::Err(lost) => {
            <Result<u32, Error> as ::tenure::locked::TellsLoss>::tell_loss(lost)
        }
    }
}
